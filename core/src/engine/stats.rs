//! Counters of what the engine does: reads and writes of a store, chunks decoded and encoded, bytes copied.
//!
//! What happens is counted in the thread, without atomics, and added to the array's counters when an item is done (`Scope`): a few
//! relaxed additions for a chunk, to one of several lines so that threads do not share one. Those of a store, of a context and of the
//! process are the sums over what was opened from them; what is closed leaves its counts there.

use crate::fork::{ForkPreserved, Lazy, Once};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Makes what is counted: the fields, the counts with a line of text for each, and how many they are.
macro_rules! counts {
    ($($(#[$doc:meta])* $field:ident, $count:ident, $text:literal;)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(super) enum Counter {
            $($field,)*
        }

        const FIELDS: usize = [$(Counter::$field),*].len();

        /// Counts at one moment; they are not taken at one instant while other threads work.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$doc])* pub $count: u64,)*
        }

        impl Stats {
            /// A line for each count that is not 0.
            pub fn text(&self, retries: u64) -> String {
                let rows = [$(($text, self.$count),)* ("retries", retries)];
                rows.iter().filter(|row| row.1 != 0).map(|(name, n)| format!("{name}: {n}\n")).collect()
            }

            fn of(n: &[u64; FIELDS]) -> Stats {
                Stats { $($count: n[Counter::$field as usize],)* }
            }
        }
    };
}

counts! {
    /// Reads that the store was asked for.
    Reads, reads, "reads";
    /// Bytes that they brought.
    BytesRead, bytes_read, "bytes read";
    /// Values that were stored.
    Writes, writes, "writes";
    /// Their bytes.
    BytesWritten, bytes_written, "bytes written";
    /// Values that were erased, there or not.
    Erased, erased, "erased";
    /// Chunks or inner chunks that went through a codec when reading.
    DecodedChunks, decoded_chunks, "decoded chunks";
    /// The bytes of their elements.
    DecodedBytes, decoded_bytes, "decoded bytes";
    /// Nanoseconds in codecs when reading, where time is measured.
    DecodeNs, decode_ns, "decode ns";
    /// Chunks or inner chunks that went through a codec when writing.
    EncodedChunks, encoded_chunks, "encoded chunks";
    /// The bytes of their elements.
    EncodedBytes, encoded_bytes, "encoded bytes";
    /// Nanoseconds in codecs when writing, where time is measured.
    EncodeNs, encode_ns, "encode ns";
    /// Missing chunks and inner chunks that were read as the fill value.
    FillChunks, fill_chunks, "fill chunks";
    /// Bytes moved by the placing copy (decoding straight into the caller's memory moves none).
    CopiedBytes, copied_bytes, "copied bytes";
    /// Shards whose index was kept.
    IndexHits, index_hits, "shard indexes kept";
    /// Shards whose index was read.
    IndexReads, index_reads, "shard indexes read";
    /// Parts of chunks that were had from chunks that are kept decoded.
    ChunkHits, chunk_hits, "decoded chunks kept";
}

/// Lines that threads add to, so that few share one.
const LINES: usize = 8;

#[derive(Default)]
#[repr(align(128))]
struct CounterLine([AtomicU64; FIELDS]);

/// The counters of an array, a store, a context or the process.
pub struct Counters {
    /// Made when something is counted: an array that is only opened costs no kilobyte.
    lines: Once<[CounterLine; LINES]>,
    /// A bit for each line that something was added to: an array that was read by one thread has one of them to sum when it is closed.
    used: AtomicUsize,
    parent: Option<Arc<Counters>>,
    children: ForkPreserved<Vec<Weak<Counters>>>,
    /// Time is measured.
    timed: AtomicBool,
}

impl Counters {
    /// Counters whose counts are among those of `parent`, too; they begin at 0, and time is measured if it is there.
    pub fn below(parent: &Arc<Counters>) -> Arc<Counters> {
        let made = Arc::new(Counters::new(Some(parent.clone()), parent.timed.load(Relaxed)));
        parent.children.write(|children| {
            if children.len() == children.capacity() {
                children.retain(|child| child.strong_count() > 0);
            }
            children.push(Arc::downgrade(&made));
        });
        made
    }

    fn new(parent: Option<Arc<Counters>>, timed: bool) -> Counters {
        Counters {
            lines: Once::new(),
            used: AtomicUsize::new(0),
            parent,
            children: ForkPreserved::new(Vec::new()),
            timed: AtomicBool::new(timed),
        }
    }

    /// Those of the process.
    pub fn process() -> Arc<Counters> {
        static PROCESS: Lazy<Arc<Counters>> = Lazy::new(|| Arc::new(Counters::new(None, false)));
        PROCESS.get().clone()
    }

    /// Returns the counts now.
    pub fn snapshot(&self) -> Stats {
        Stats::of(&self.sum())
    }

    fn sum(&self) -> [u64; FIELDS] {
        let mut sum = [0u64; FIELDS];
        let mut add = |n: &[u64; FIELDS]| sum.iter_mut().zip(n).for_each(|(sum, n)| *sum = sum.wrapping_add(*n));
        // The living children are taken first: one that ended before has added its counts to the lines, and none ends while they are held.
        let children = self.living();
        children.iter().for_each(|child| add(&child.sum()));
        add(&self.own());
        sum
    }

    /// The sum of the lines.
    fn own(&self) -> [u64; FIELDS] {
        let (mut sum, used) = ([0u64; FIELDS], self.used.load(Relaxed));
        let lines = self.lines.known().into_iter().flatten().enumerate();
        for (_, line) in lines.filter(|(i, _)| used >> i & 1 == 1) {
            sum.iter_mut().zip(&line.0).for_each(|(sum, n)| *sum = sum.wrapping_add(n.load(Relaxed)));
        }
        sum
    }

    fn living(&self) -> Vec<Arc<Counters>> {
        self.children.read(|children| children.iter().filter_map(Weak::upgrade).collect())
    }

    /// Whether the time in codecs is measured from now on, here and by all that was opened from it.
    pub fn measure_time(&self, on: bool) {
        self.timed.store(on, Relaxed);
        self.living().iter().for_each(|child| child.measure_time(on));
    }

    /// Returns whether the time in codecs is measured.
    pub fn measures_time(&self) -> bool {
        self.timed.load(Relaxed)
    }

    fn add(&self, counts: impl Iterator<Item = (usize, u64)>) {
        let mut counts = counts.peekable();
        if counts.peek().is_some() {
            let i = LINE.with(|line| *line);
            let line = &self.lines.get(Default::default)[i];
            if self.used.load(Relaxed) >> i & 1 == 0 {
                self.used.fetch_or(1 << i, Relaxed);
            }
            for (field, n) in counts {
                line.0[field].fetch_add(n, Relaxed);
            }
        }
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        if let Some(parent) = self.parent.take() {
            // No child is left: each holds its parent.
            parent.add(self.own().into_iter().enumerate().filter(|(_, n)| *n != 0));
        }
    }
}

/// What a thread did since its scope began. An item counts a few of the fields, and only those cost something when it is done.
struct Tally {
    /// A bit for each field that is not 0.
    touched: Cell<u32>,
    counts: [Cell<u64>; FIELDS],
}

impl Tally {
    /// Returns the counts, which are 0 afterwards.
    fn drain(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut left = self.touched.take();
        std::iter::from_fn(move || {
            let field = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            Some((field, self.counts.get(field)?.take()))
        })
    }
}

thread_local! {
    static TALLY: Tally = const { Tally { touched: Cell::new(0), counts: [const { Cell::new(0) }; FIELDS] } };
    /// Time is measured.
    static TIMED: Cell<bool> = const { Cell::new(false) };
    /// The line that this thread adds to.
    static LINE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Relaxed) % LINES
    };
}

/// Counts `n` more.
#[inline]
pub(super) fn count(field: Counter, n: u64) {
    TALLY.with(|tally| {
        tally.touched.set(tally.touched.get() | 1 << field as usize);
        let sum = &tally.counts[field as usize];
        sum.set(sum.get().wrapping_add(n));
    });
}

/// Counts a read of `bytes`.
#[inline]
pub(super) fn read(bytes: u64) {
    count(Counter::Reads, 1);
    count(Counter::BytesRead, bytes);
}

/// Runs `f`, and counts the nanoseconds where that is wanted.
pub(super) fn timed<R>(field: Counter, f: impl FnOnce() -> R) -> R {
    if !TIMED.get() {
        return f();
    }
    let begin = Instant::now();
    let result = f();
    count(field, u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
    result
}

/// What the thread does from here until this is dropped counts as these counters'.
pub(super) struct Scope<'a> {
    counters: &'a Counters,
    /// What the scope around it has counted so far.
    outer: Option<[u64; FIELDS]>,
    timed: bool,
}

impl<'a> Scope<'a> {
    /// Begins.
    pub fn new(counters: &'a Counters) -> Scope<'a> {
        let outer = TALLY.with(|tally| {
            (tally.touched.get() != 0).then(|| {
                let mut outer = [0; FIELDS];
                tally.drain().for_each(|(field, n)| outer[field] = n);
                outer
            })
        });
        Scope { counters, outer, timed: TIMED.replace(counters.timed.load(Relaxed)) }
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        TALLY.with(|tally| {
            self.counters.add(tally.drain());
            for (field, n) in self.outer.iter().flatten().enumerate().filter(|(_, n)| **n != 0) {
                tally.counts[field].set(*n);
                tally.touched.set(tally.touched.get() | 1 << field);
            }
        });
        TIMED.set(self.timed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_parent_too_before_and_after_the_child_is_gone() {
        let root = Arc::new(Counters::new(None, false));
        let (a, b) = (Counters::below(&root), Counters::below(&root));
        {
            let _outer = Scope::new(&a);
            read(100);
            {
                let _inner = Scope::new(&b);
                read(7);
            }
            read(1);
        }
        assert_eq!((a.snapshot().reads, a.snapshot().bytes_read), (2, 101));
        assert_eq!((b.snapshot().reads, b.snapshot().bytes_read), (1, 7));
        assert_eq!(root.snapshot().bytes_read, 108);
        drop(b);
        assert_eq!((root.snapshot().bytes_read, root.snapshot().reads), (108, 3));
    }

    #[test]
    fn time_is_measured_only_where_it_is_wanted() {
        let root = Arc::new(Counters::new(None, false));
        let below = Counters::below(&root);
        let work = || {
            let _scope = Scope::new(&below);
            timed(Counter::DecodeNs, || std::thread::sleep(std::time::Duration::from_millis(1)));
        };
        work();
        assert_eq!(below.snapshot().decode_ns, 0);
        root.measure_time(true);
        work();
        assert!(below.snapshot().decode_ns >= 1_000_000 && Counters::below(&root).timed.load(Relaxed));
    }
}
