//! What the targets share that call the library in sequences: the input as a row of numbers, and the elements of an array as they must be.
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::error::Result;
use ozarr::node::Array;
use ozarr::store::latency::LatencyStore;
use ozarr::store::memory::MemoryStore;
use ozarr::store::{Capabilities, SharedStore, Storage};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// An empty store in memory: as it is, one that answers later as a network does, or one without locks whose puts have conditions as those of
/// object stores, which answers later or not.
pub fn store(way: u8) -> SharedStore {
    let near: SharedStore = Arc::new(MemoryStore::new());
    match way % 4 {
        0 | 1 => near,
        2 => Arc::new(LatencyStore::new(near, Duration::ZERO)),
        _ if way & 4 == 0 => Arc::new(Conditional(near)),
        _ => Arc::new(LatencyStore::new(Arc::new(Conditional(near)), Duration::ZERO)),
    }
}

/// A store without locks whose puts have conditions.
struct Conditional(SharedStore);

impl Storage for Conditional {
    fn capabilities(&self) -> Capabilities {
        Capabilities { swaps: true, ..self.0.capabilities() }
    }

    ozarr::store::forward!(0: open, put, erase_keys, list_keys, flush, describe);
}

/// The input, taken as numbers. After its end all of them are 0.
pub struct Script<'a>(pub &'a [u8]);

impl Script<'_> {
    /// Whether the input has ended.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next number.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number less than `n`; 0 where there is none.
    pub fn below(&mut self, n: u64) -> u64 {
        u64::from(self.byte()) % n.max(1)
    }

    /// One of several.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A region inside of an array of that shape.
    pub fn region(&mut self, shape: &[u64]) -> Region {
        let mut region = Region { start: Vec::new(), count: Vec::new(), step: Vec::new() };
        for &n in shape {
            let (start, step) = (self.below(n) as i64, self.one_of(&[1i64, 1, 1, 1, 2, 3, -1, -2]));
            let room = if step > 0 { n as i64 - 1 - start } else { start };
            let most = if n == 0 { 0 } else { room / step.abs() + 1 };
            region.start.push(start);
            region.count.push(self.below(most as u64 + 1) as i64);
            region.step.push(step);
        }
        region
    }

    /// Values to be written: nothing but `fill`, one value again and again, or each another one. `last` is the last that was given.
    pub fn values(&mut self, count: usize, fill: i32, last: &mut i32) -> Vec<i32> {
        let way = self.below(4);
        let next = |_| {
            *last += i32::from(way != 1);
            *last
        };
        if way == 0 { vec![fill; count] } else { (0..count).map(next).collect() }
    }
}

/// A region of an array.
#[derive(Debug)]
pub struct Region {
    pub start: Vec<i64>,
    pub count: Vec<i64>,
    pub step: Vec<i64>,
}

impl Region {
    /// A box without steps.
    pub fn boxed(start: &[u64], count: &[u64]) -> Region {
        let signed = |numbers: &[u64]| numbers.iter().map(|&n| n as i64).collect();
        Region { start: signed(start), count: signed(count), step: vec![1; start.len()] }
    }

    /// All of an array.
    pub fn whole(shape: &[u64]) -> Region {
        Region::boxed(&vec![0; shape.len()], shape)
    }

    /// The indices of its elements, in C order.
    pub fn indices(&self) -> Vec<Vec<u64>> {
        let mut all = vec![Vec::new()];
        for d in 0..self.start.len() {
            let along: Vec<u64> = (0..self.count[d]).map(|i| (self.start[d] + i * self.step[d]) as u64).collect();
            all = all.iter().flat_map(|first| along.iter().map(|i| [&first[..], &[*i]].concat())).collect();
        }
        all
    }

    /// The number of its elements.
    pub fn len(&self) -> usize {
        self.count.iter().product::<i64>() as usize
    }

    fn shape(&self) -> Vec<u64> {
        self.count.iter().map(|&n| n as u64).collect()
    }

    /// Writes it.
    pub fn write(&self, array: &Array, values: &[i32]) -> Result<()> {
        let mut values = values.to_vec();
        let selection = Selection::new(&array.shape(), &self.start, &self.count, Some(&self.step))?;
        // SAFETY: the memory lives as long as the call.
        unsafe { array.write(&selection, &memory(&mut values, &self.shape())) }
    }

    /// Reads it.
    pub fn read(&self, array: &Array) -> Result<Vec<i32>> {
        let mut values = vec![i32::MIN; self.len()];
        let selection = Selection::new(&array.shape(), &self.start, &self.count, Some(&self.step))?;
        // SAFETY: as above.
        unsafe { array.read(&selection, &memory(&mut values, &self.shape()))? };
        Ok(values)
    }
}

/// Values as memory of the caller.
pub fn memory(data: &mut [i32], shape: &[u64]) -> Memory {
    Memory::of(data, shape, DataType::Int32)
}

/// What an array must hold.
#[derive(Clone, Debug)]
pub struct Cells {
    pub shape: Vec<u64>,
    pub fill: i32,
    /// What was written, also outside of the shape, where it stays on request. True: it may be the fill value instead.
    written: BTreeMap<Vec<u64>, (i32, bool)>,
}

impl Cells {
    /// A new array.
    pub fn new(shape: &[u64], fill: i32) -> Cells {
        Cells { shape: shape.to_vec(), fill, written: BTreeMap::new() }
    }

    /// Notes what was written.
    pub fn write(&mut self, indices: Vec<Vec<u64>>, values: &[i32]) {
        self.written.extend(indices.into_iter().zip(values.iter().map(|&value| (value, false))));
    }

    /// Notes that a region has the fill value.
    pub fn erase(&mut self, region: &Region) {
        self.written.retain(|index, _| !region.indices().contains(index));
    }

    /// Notes another shape. What is outside of it goes, or is not sure any more.
    pub fn resize(&mut self, shape: &[u64], keep_outside: bool) {
        let inside = |index: &[u64], shape: &[u64]| index.iter().zip(shape).all(|(i, n)| i < n);
        let old = std::mem::replace(&mut self.shape, shape.to_vec());
        self.written.retain(|index, (_, doubtful)| {
            *doubtful |= !inside(index, shape);
            inside(index, shape) || keep_outside || !inside(index, &old)
        });
    }

    /// Checks what was read of a region.
    pub fn check(&self, indices: Vec<Vec<u64>>, found: &[i32], what: &str) {
        for (index, &found) in indices.iter().zip(found) {
            let (value, doubtful) = self.written.get(index).copied().unwrap_or((self.fill, false));
            let good = found == value || doubtful && found == self.fill;
            assert!(good, "{what}: element {index:?} is {found}, expected {value} (shape {:?})", self.shape);
        }
    }

    /// Checks all elements of an array.
    pub fn check_all(&self, array: &Array, what: &str) {
        assert_eq!(array.shape().as_slice(), self.shape, "{what}: the shape");
        let whole = Region::whole(&self.shape);
        let found = whole.read(array).unwrap_or_else(|e| panic!("{what}: {e}"));
        self.check(whole.indices(), &found, what);
    }
}
