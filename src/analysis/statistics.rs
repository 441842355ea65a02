//! Statistics of a region of numbers, read block by block.

use super::blocks::{Block, Blocks, CutAt, Told, read};
use super::stored::blocks_stored;
use crate::dtype::{DataType, Element};
use crate::engine::Selection;
use crate::error::{Result, bail};
use crate::figures::as_number;
use crate::figures::moments::{Bins, Moments};
use crate::node::Array;

/// The numbers of a region of an array.
pub struct Numbers<'a> {
    array: &'a Array,
    /// As which they are read.
    data_type: DataType,
    /// The bytes of those that are missing.
    missing: Vec<Vec<u8>>,
    /// Those that are looked at. The elements of those that are left out have the fill value.
    blocks: Blocks,
    /// The numbers of those of them that have stored chunks; `None` if any may have.
    stored: Option<Vec<u64>>,
    /// The fill value, in the type that elements are read as.
    fill: Element,
}

impl<'a> Numbers<'a> {
    /// The numbers of a selection, looked at block by block or, `by_chunk`, chunk by chunk. Errors: `Type` if the elements are no numbers,
    /// those of the attributes that say what is missing.
    pub fn new(array: &'a Array, selection: Selection, by_chunk: bool) -> Result<Numbers<'a>> {
        let Some(data_type) = as_number(array.data_type()) else {
            bail!(Type, "found elements of type {}; statistics are of real numbers, truth values and times", array.data_type().name())
        };
        let missing: Vec<Vec<u8>> =
            array.missing_values()?.iter().map(|element| Ok(array.convert(element, data_type, None)?.to_vec())).collect::<Result<_>>()?;
        let fill = array.fill_as(data_type, false)?;
        let cut = if by_chunk { CutAt::EachChunk } else { CutAt::Chunks };
        let blocks = Blocks::new(array, selection, data_type.size(), cut)?;
        let stored = blocks_stored(array, &blocks)?;
        // By chunk all are told of, also those that are not stored.
        let (blocks, stored) = if by_chunk { (blocks, stored) } else { (blocks.only(stored), None) };
        Ok(Numbers { array, data_type, missing, blocks, stored, fill })
    }

    /// The bytes that looking at all of them takes, in memory.
    pub fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }

    /// Their figures. `each` gets those of each block, in order, with the elements that the block is; `told` the bytes of each.
    pub fn moments(&self, told: Told<'_>, mut each: impl FnMut(&Selection, &Moments) -> Result<()> + Send) -> Result<Moments> {
        let mut all = Moments::default();
        let work = |block: &Block, buffer: &mut Vec<u8>| {
            if !self.read(block, buffer)? {
                return Ok(Moments::of_equal(block.shape.iter().product(), self.data_type, &self.fill, &self.missing));
            }
            Ok(Moments::of(self.data_type, buffer, &self.missing))
        };
        self.blocks.each(told, work, |block, found| {
            all.add(&found);
            each(&self.blocks.part(&block)?, &found)
        })?;
        if self.blocks.left_out() > 0 {
            all.add(&Moments::of_equal(self.blocks.left_out(), self.data_type, &self.fill, &self.missing));
        }
        Ok(all)
    }

    /// Counts them in equal parts of a range; `empty` is the parts.
    pub fn bins(&self, empty: Bins, told: Told<'_>) -> Result<Bins> {
        let mut sum = empty.clone();
        let work = |block: &Block, buffer: &mut Vec<u8>| {
            if !self.read(block, buffer)? {
                return Ok(empty.clone().count_equal(block.shape.iter().product(), self.data_type, &self.fill, &self.missing));
            }
            Ok(empty.clone().count(self.data_type, buffer, &self.missing))
        };
        self.blocks.each(told, work, |_, found| {
            sum.add(&found);
            Ok(())
        })?;
        if self.blocks.left_out() > 0 {
            sum.add(&empty.count_equal(self.blocks.left_out(), self.data_type, &self.fill, &self.missing));
        }
        Ok(sum)
    }

    /// Reads a block; false if none of its chunks is stored.
    fn read(&self, block: &Block, buffer: &mut Vec<u8>) -> Result<bool> {
        let is_stored = self.blocks.is_among(self.stored.as_deref(), block);
        if is_stored {
            read(self.array, &self.blocks.part(block)?, self.data_type, buffer)?;
        }
        Ok(is_stored)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::figures::Exact;
    use crate::node::{Context, Create, Spec, Store};

    /// How long both dimensions of [`mostly_empty`] are.
    pub(in crate::analysis) const N: u64 = 100_000;

    /// 10^10 elements, of which two chunks at the ends and one in the middle are stored, and hold 1 to 1000 each.
    pub(in crate::analysis) fn mostly_empty(data_type: DataType, fill: &str, chunks: &[u64]) -> Array {
        let store = Store::memory(&Context::default());
        let mut spec = Spec::new(data_type, &[N, N]).unwrap();
        spec.set_chunks(chunks).unwrap();
        spec.set_fill_json(fill).unwrap();
        let array = Array::create(&store, "", &spec, Create::New).unwrap();
        for row in [0, N as i64 / 2 - 1, N as i64 - 1] {
            let selection = Selection::new(&[N, N], &[row, 5000], &[1, 1000], None).unwrap();
            let mut values: Vec<i64> = (1..=1000).collect();
            let memory = crate::engine::Memory::of(&mut values, &[1, 1000], DataType::Int64);
            // SAFETY: the memory is all of `values`.
            unsafe { array.write(&selection, &memory) }.unwrap();
        }
        array
    }

    /// Type, fill value, chunk shape, how many elements count, and their range.
    type Row<'a> = (DataType, &'a str, &'a [u64], u64, (f64, f64));

    #[test]
    fn chunks_that_are_not_stored_count_by_their_fill_value() {
        let all = Selection::all(&[N, N]);
        let rows: &[Row<'_>] = &[
            (DataType::Float64, "0", &[1000, 1000], N * N, (0.0, 1000.0)),
            (DataType::Float16, "\"NaN\"", &[1, 1000], 3000, (1.0, 1000.0)),
            (DataType::Int64, "3000", &[700, 999], N * N, (1.0, 3000.0)),
            (DataType::Int16, "-1", &[2000, 1000], N * N, (-1.0, 1000.0)),
        ];
        for (data_type, fill, chunks, count, range) in rows {
            let array = mostly_empty(*data_type, fill, chunks);
            let numbers = Numbers::new(&array, all.clone(), false).unwrap();
            assert!(numbers.bytes() < 1 << 28, "{data_type:?}: {} bytes are read", numbers.bytes());
            let found = numbers.moments(&|_| Ok(()), |_, _| Ok(())).unwrap();
            assert_eq!((found.elements, found.count, found.range()), (N * N, *count, Some(*range)), "{data_type:?}");
            let bins = numbers.bins(Bins::new(Exact::Float(range.0), Exact::Float(range.1), 2), &|_| Ok(())).unwrap();
            assert_eq!(bins.counts.iter().sum::<u64>(), *count, "{data_type:?}");
        }
    }

    #[test]
    fn by_chunk_all_are_told_of_and_few_are_read() {
        let array = mostly_empty(DataType::Int32, "-7", &[1000, 1000]);
        let selection = Selection::new(&[N, N], &[0, 5000], &[N as i64, 1000], None).unwrap();
        let numbers = Numbers::new(&array, selection, true).unwrap();
        let before = array.stats().snapshot();
        let mut seen = Vec::new();
        let all = numbers.moments(&|_| Ok(()), |_, found| {
            seen.push((found.elements, found.range()));
            Ok(())
        });
        let mut want = vec![(1_000_000, Some((-7.0, -7.0))); 100];
        [0, 49, 99].iter().for_each(|&n| want[n].1 = Some((-7.0, 1000.0)));
        assert_eq!((seen, all.unwrap().elements), (want, N * 1000));
        assert_eq!(
            numbers.bins(Bins::new(Exact::Integer(-7), Exact::Integer(1000), 2), &|_| Ok(())).unwrap().counts,
            [N * 1000 - 3 * 504, 3 * 504]
        );
        let after = array.stats().snapshot();
        assert_eq!((after.decoded_chunks - before.decoded_chunks, after.fill_chunks - before.fill_chunks), (6, 0));
    }

    #[test]
    fn regions_count_what_is_stored_in_them() {
        let array = mostly_empty(DataType::Int16, "7", &[1, 1000]);
        // The rows of values that each region has.
        for (start, count, step, rows) in [([0, 4000], [20_000, 3000], [1, 1], 1), ([N as i64 - 1, 6500], [30_000, 2000], [-2, -1], 2)] {
            let selection = Selection::new(&[N, N], &start, &count, Some(&step)).unwrap();
            let numbers = Numbers::new(&array, selection, false).unwrap();
            assert!(numbers.bytes() < 1 << 28, "{} bytes are read", numbers.bytes());
            let found = numbers.moments(&|_| Ok(()), |_, _| Ok(())).unwrap();
            let sum = 7 * (60_000_000 - rows * 1000) + rows * 500_500i64;
            assert_eq!((found.elements, found.range(), found.mean()), (60_000_000, Some((1.0, 1000.0)), Some(sum as f64 / 6e7)));
        }
    }
}
