//! What differs between the elements of two regions: how many, where first, and by how much.

use super::blocks::{Block, Blocks, CutAt, Told, part_of, read};
use super::stored::blocks_stored;
use crate::dtype::{DataType, Kind};
use crate::engine::Selection;
use crate::error::{Error, Result, bail, err};
use crate::figures::as_number;
pub use crate::figures::distance::Tolerance;
use crate::figures::distance::{distance, each_differing};
use crate::limits::reserve;
use crate::node::Array;

/// Two elements that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Their index in the region.
    pub at: Vec<u64>,
    /// The bytes of the first region's element.
    pub a: Vec<u8>,
    /// The bytes of the other one's.
    pub b: Vec<u8>,
}

/// The largest difference, and where it is.
#[derive(Clone, Debug, Default)]
pub struct Largest {
    /// How large it is.
    pub value: f64,
    /// The elements; `None` where no numbers differ.
    pub pair: Option<Pair>,
}

/// The differences of the elements of two regions.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// The number of elements that differ.
    pub differing: u64,
    /// The first of them in C order.
    pub first: Option<Pair>,
    /// The largest distance of two numbers that differ.
    pub absolute: Largest,
    /// The largest share of the larger number.
    pub relative: Largest,
}

/// What is compared of the elements of a type.
#[derive(Clone, Copy)]
enum As {
    /// Numbers of these types, one for each array; `usize` of them in an element.
    Numbers(DataType, DataType, usize),
    /// Bytes of that type.
    Bytes(DataType),
    Variable(DataType),
}

impl As {
    /// As which types the elements are read.
    fn types(self) -> (DataType, DataType) {
        match self {
            As::Numbers(a, b, _) => (a, b),
            As::Bytes(data_type) | As::Variable(data_type) => (data_type, data_type),
        }
    }
}

/// As which types elements of two types are read to be compared, which the bytes of a [`Pair`] are of; `None` if they cannot be.
pub fn compared_as(a: DataType, b: DataType) -> Option<(DataType, DataType)> {
    comparison(a, b).map(As::types)
}

fn comparison(a: DataType, b: DataType) -> Option<As> {
    let (a, b) = (a.native(), b.native());
    if a.is_variable() || b.is_variable() {
        return (a == b).then_some(As::Variable(a));
    }
    match (as_number(a), as_number(b)) {
        (Some(x), Some(y)) if x == y || a.kind() != Kind::Time && b.kind() != Kind::Time => Some(As::Numbers(x, y, 1)),
        _ if a.kind() == Kind::Complex && b.kind() == Kind::Complex => Some(As::Numbers(DataType::Complex128, DataType::Complex128, 2)),
        _ => (a == b).then_some(As::Bytes(a)),
    }
}

/// Compares the elements of two regions of one shape. NaN is equal to NaN, and no tolerance makes it, or an infinity, equal to another value.
/// `blame` completes an error of reading with the region that it is of, 0 or 1; `told` gets the bytes of each block that is done.
/// Errors: `Type` if the types cannot be compared, `Bounds` if the shapes differ, and those of reading.
pub fn compare(
    a: (&Array, &Selection),
    b: (&Array, &Selection),
    tolerance: Tolerance,
    blame: &(dyn Fn(Error, usize) -> Error + Sync),
    told: Told<'_>,
) -> Result<Differences> {
    let types = (a.0.data_type(), b.0.data_type());
    let Some(how) = comparison(types.0, types.1) else {
        bail!(Type, "elements of type {} cannot be compared with those of type {}", types.0.name(), types.1.name())
    };
    if a.1.shape() != b.1.shape() {
        bail!(Bounds, "found regions of shape {:?} and {:?}, expected one shape", a.1.shape(), b.1.shape());
    }
    let (of_a, of_b) = how.types();
    let blocks = Blocks::new(a.0, a.1.clone(), of_a.size().max(of_b.size()), CutAt::Chunks)?.beside(a.0, b.0);
    let b_shape = b.0.shape();
    let stored = if let As::Variable(_) = how { None } else { either_stored(a, b, &blocks)? };
    let blocks = blocks.only(stored);
    let mut all = of_unstored(how, tolerance, a.0, b.0, &blocks)?;
    told(blocks.left_out().saturating_mul(of_a.size().max(of_b.size()) as u64))?;
    let work = |block: &Block, buffer: &mut Vec<u8>| {
        let (part_a, part_b) = (blocks.part(block)?, part_of(b.1, &b_shape, block)?);
        let mut found = Differences::default();
        if let As::Variable(_) = how {
            let one = a.0.read_variable(&part_a).map_err(|e| blame(e, 0))?;
            let other = b.0.read_variable(&part_b).map_err(|e| blame(e, 1))?;
            for i in (0..one.len()).filter(|&i| one.get(i) != other.get(i)) {
                found.note(block, i, one.get(i).unwrap_or_default(), other.get(i).unwrap_or_default())?;
            }
            return Ok(found);
        }
        let (mut other, same) = (Vec::new(), of_a == of_b);
        read(a.0, &part_a, of_a, buffer).map_err(|e| blame(e, 0))?;
        read(b.0, &part_b, of_b, &mut other).map_err(|e| blame(e, 1))?;
        if !same || *buffer != other {
            let mut pair = |i: usize, x: &[u8], y: &[u8]| found.pair(how, tolerance, block, i, (x, y));
            each_differing((buffer, of_a.size()), (&other, of_b.size()), same, &mut pair)?;
        }
        Ok(found)
    };
    blocks.each(told, work, |_, found| {
        all.add(found);
        Ok(())
    })?;
    Ok(all)
}

/// The numbers of the blocks of which one array or the other has stored chunks; `None` if all are to be read.
fn either_stored(a: (&Array, &Selection), b: (&Array, &Selection), blocks: &Blocks) -> Result<Option<Vec<u64>>> {
    let Some(mut numbers) = blocks_stored(a.0, blocks)? else { return Ok(None) };
    let Some(others) = blocks_stored(b.0, &blocks.of(b.1.clone(), &b.0.shape()))? else { return Ok(None) };
    numbers.try_reserve(others.len()).map_err(|_| err!(NoMemory, "no memory for a list of {} blocks", numbers.len()))?;
    numbers.extend(others);
    numbers.sort_unstable();
    numbers.dedup();
    Ok(Some(numbers))
}

/// The differences of the elements of the blocks that are left out, which have the fill values.
fn of_unstored(how: As, tolerance: Tolerance, a: &Array, b: &Array, blocks: &Blocks) -> Result<Differences> {
    let mut found = Differences::default();
    let (Some(first), (of_a, of_b)) = (blocks.first_left_out(), how.types()) else { return Ok(found) };
    let (x, y) = (a.fill_as(of_a, false)?, b.fill_as(of_b, false)?);
    if of_a != of_b || x != y {
        found.pair(how, tolerance, &blocks.get(first), 0, (&x[..], &y[..]))?;
    }
    found.differing *= blocks.left_out();
    Ok(found)
}

impl Differences {
    /// Compares two elements whose types or bytes differ.
    fn pair(&mut self, how: As, tolerance: Tolerance, block: &Block, i: usize, (x, y): (&[u8], &[u8])) -> Result<()> {
        let As::Numbers(of_a, of_b, parts) = how else { return self.note(block, i, x, y) };
        if let Some((absolute, relative)) = distance(tolerance, (of_a, x), (of_b, y), parts) {
            self.absolute.consider(absolute, block, i, (x, y))?;
            self.relative.consider(relative, block, i, (x, y))?;
            self.note(block, i, x, y)?;
        }
        Ok(())
    }

    fn note(&mut self, block: &Block, i: usize, x: &[u8], y: &[u8]) -> Result<()> {
        self.differing += 1;
        if self.first.is_none() {
            self.first = Some(Pair::new(block, i, x, y)?);
        }
        Ok(())
    }

    /// Joins the differences of another block. Of equal ones the first in C order counts.
    fn add(&mut self, other: Differences) {
        let is_before = |a: &Option<Pair>, b: &Option<Pair>| a.as_ref().is_some_and(|a| b.as_ref().is_none_or(|b| a.at < b.at));
        self.differing += other.differing;
        if is_before(&other.first, &self.first) {
            self.first = other.first;
        }
        for (mine, theirs) in [(&mut self.absolute, other.absolute), (&mut self.relative, other.relative)] {
            if theirs.value > mine.value || theirs.value == mine.value && is_before(&theirs.pair, &mine.pair) {
                *mine = theirs;
            }
        }
    }
}

impl Largest {
    fn consider(&mut self, value: f64, block: &Block, i: usize, (x, y): (&[u8], &[u8])) -> Result<()> {
        if self.pair.is_none() || value > self.value {
            *self = Largest { value, pair: Some(Pair::new(block, i, x, y)?) };
        }
        Ok(())
    }
}

impl Pair {
    /// Element `i` of a block.
    fn new(block: &Block, mut i: usize, x: &[u8], y: &[u8]) -> Result<Pair> {
        let (mut at, mut a, mut b) = (block.at.clone(), Vec::new(), Vec::new());
        for d in (0..at.len()).rev() {
            let n = block.shape[d].max(1) as usize;
            at[d] += (i % n) as u64;
            i /= n;
        }
        for (own, bytes) in [(&mut a, x), (&mut b, y)] {
            reserve(own, bytes.len())?;
            own.extend_from_slice(bytes);
        }
        Ok(Pair { at, a, b })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::statistics::tests::{N, mostly_empty};
    use crate::engine::Memory;
    use crate::node::{Context, Create, Spec, Store};

    /// Compares two arrays of 10^12 elements, of which nearly none are stored.
    fn differences(a: &Array, b: &Array, tolerance: f64) -> Differences {
        let all = Selection::all(&[N, N]);
        let tolerance = Tolerance { absolute: tolerance, relative: 0.0 };
        compare((a, &all), (b, &all), tolerance, &|e, _| e, &|_| Ok(())).unwrap()
    }

    #[test]
    fn what_neither_array_has_stored_is_compared_once() {
        // Elements of chunks that are stored are compared one by one.
        let array = |data_type, fill, [rows, columns]: [u64; 2]| {
            mostly_empty(data_type, fill, &[rows.div_ceil(crate::settings::apart(10) as u64), columns])
        };
        let a = array(DataType::Int16, "7", [1000, 1000]);
        assert_eq!(differences(&a, &array(DataType::Float16, "7", [1, 1000]), 0.0).differing, 0);
        let b = array(DataType::Int64, "9", [700, 999]);
        let found = differences(&a, &b, 0.0);
        let first = Pair { at: vec![0, 0], a: 7i16.to_ne_bytes().into(), b: 9i64.to_ne_bytes().into() };
        assert_eq!((found.differing, found.first, found.absolute.value), (N * N - 3000, Some(first), 2.0));
        assert_eq!(differences(&a, &b, 2.0).differing, 0);
        let nan = array(DataType::Float64, "\"NaN\"", [1000, 1000]);
        assert_eq!(differences(&nan, &nan, 0.0).differing, 0);
    }

    #[test]
    fn the_first_difference_is_the_first_in_c_order_whatever_the_chunks() {
        let store = Store::memory(&Context::default());
        let array = |path: &str, chunks: [u64; 2], at: &[[i64; 2]]| {
            let mut spec = Spec::new(DataType::Float64, &[500, 500]).unwrap();
            spec.set_chunks(&chunks).unwrap();
            let array = Array::create(&store, path, &spec, Create::New).unwrap();
            for at in at {
                let mut value = [8f64];
                let memory = Memory::of(&mut value, &[1, 1], DataType::Float64);
                // SAFETY: the memory is all of `value`.
                unsafe { array.write(&Selection::new(&[500, 500], at, &[1, 1], None).unwrap(), &memory) }.unwrap();
            }
            array
        };
        let all = Selection::all(&[500, 500]);
        for (i, chunks) in [[400, 400], [500, 500]].into_iter().enumerate() {
            let at = [[300, 300], [0, 450], [499, 0]];
            let (a, b) = (array(&format!("a{i}"), chunks, &[]), array(&format!("b{i}"), chunks, &at));
            let found = compare((&a, &all), (&b, &all), Tolerance::default(), &|e, _| e, &|_| Ok(())).unwrap();
            assert_eq!((found.differing, found.first.unwrap().at), (3, vec![0, 450]), "{chunks:?}");
            assert_eq!(found.absolute.pair.unwrap().at, [0, 450], "{chunks:?}");
        }
    }

    #[test]
    fn what_one_array_has_stored_is_read() {
        let (a, b) = (mostly_empty(DataType::Int16, "7", &[1000, 1000]), mostly_empty(DataType::Int16, "7", &[1000, 1000]));
        let at = Selection::new(&[N, N], &[70_000, 3], &[1, 1], None).unwrap();
        let mut value = [8i16];
        let memory = Memory::of(&mut value, &[1, 1], DataType::Int16);
        // SAFETY: the memory is all of `value`.
        unsafe { b.write(&at, &memory) }.unwrap();
        for (a, b) in [(&a, &b), (&b, &a)] {
            let found = differences(a, b, 0.0);
            assert_eq!((found.differing, found.first.unwrap().at), (1, vec![70_000, 3]));
        }
    }
}
