//! Statistics of a region of numbers, read block by block.

use super::blocks::{Block, Blocks, Cut, read};
use super::moments::{Bins, Moments};
use super::number::as_number;
use super::stored::blocks_stored;
use crate::dtype::fill::Fill;
use crate::dtype::{DataType, Element, Kind};
use crate::engine::Selection;
use crate::error::{Result, bail};
use crate::json::Value;
use crate::node::Array;

/// The numbers of a region of an array.
pub struct Numbers<'a> {
    array: &'a Array,
    /// As which they are read.
    data_type: DataType,
    /// The bytes of those that are missing.
    missing: Vec<Vec<u8>>,
    /// Those that are read. The elements of the others have the fill value.
    blocks: Blocks,
}

impl<'a> Numbers<'a> {
    /// The numbers of a selection, looked at block by block or, `by_chunk`, chunk by chunk. Errors: `Type` if the elements are no numbers,
    /// those of the attributes that say what is missing.
    pub fn new(array: &'a Array, selection: Selection, by_chunk: bool) -> Result<Numbers<'a>> {
        let Some(data_type) = as_number(array.data_type()) else {
            bail!(Type, "found elements of type {}; statistics are of real numbers, truth values and times", array.data_type().name())
        };
        let missing = missing(array)?;
        let cut = if by_chunk { Cut::EachChunk } else { Cut::Chunks };
        let blocks = Blocks::new(array, selection, data_type.size(), cut)?;
        let stored = if by_chunk { None } else { blocks_stored(array, &blocks)? };
        let blocks = blocks.only(stored);
        Ok(Numbers { array, data_type, missing, blocks })
    }

    /// The bytes that looking at all of them takes, in memory.
    pub fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }

    /// Their figures. `each` gets those of each block, in order, with the elements that the block is; `told` the bytes of each.
    pub fn moments(&self, told: &(dyn Fn(u64) + Sync), mut each: impl FnMut(&Selection, &Moments) -> Result<()> + Send) -> Result<Moments> {
        let mut all = Moments::default();
        let work = |block: &Block, buffer: &mut Vec<u8>| {
            read(self.array, &self.blocks.part(block)?, self.data_type, buffer)?;
            Ok(Moments::of(self.data_type, buffer, &self.missing))
        };
        self.blocks.each(told, work, |block, found| {
            all.add(&found);
            each(&self.blocks.part(&block)?, &found)
        })?;
        if self.blocks.left_out() > 0 {
            all.add(&Moments::of_equal(self.blocks.left_out(), self.data_type, &self.fill(), &self.missing));
        }
        Ok(all)
    }

    /// Counts them in equal parts of a range; `empty` is the parts.
    pub fn bins(&self, empty: Bins, told: &(dyn Fn(u64) + Sync)) -> Result<Bins> {
        let mut sum = empty.clone();
        let work = |block: &Block, buffer: &mut Vec<u8>| {
            read(self.array, &self.blocks.part(block)?, self.data_type, buffer)?;
            Ok(empty.clone().count(self.data_type, buffer, &self.missing))
        };
        self.blocks.each(told, work, |_, found| {
            sum.add(&found);
            Ok(())
        })?;
        if self.blocks.left_out() > 0 {
            sum.add(&empty.count_equal(self.blocks.left_out(), self.data_type, &self.fill(), &self.missing));
        }
        Ok(sum)
    }

    /// The bytes of the fill value, in the type that elements are read as.
    fn fill(&self) -> Vec<u8> {
        let from = self.array.data_type();
        as_read(from, self.array.fill().element(from))
    }
}

/// The bytes of the elements that are missing, in the type that they are read as.
fn missing(array: &Array) -> Result<Vec<Vec<u8>>> {
    let from = array.data_type();
    Ok(array.missing_values()?.into_iter().map(|element| as_read(from, element)).collect())
}

/// The bytes of an element in the type that [`as_number`] gives: a narrow float is read as a float32.
fn as_read(from: DataType, element: Element) -> Vec<u8> {
    if from.kind() != Kind::Float || from.size() >= size_of::<f32>() {
        return element.to_vec();
    }
    let single = match Fill::from_bytes(&element).to_json_v3(from) {
        // A NaN may be told by its bits.
        Value::String(text) => text.parse().unwrap_or(f32::NAN),
        number => number.as_f64().map_or(f32::NAN, |x| x as f32),
    };
    single.to_ne_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Context, Create, Spec, Store};

    /// 10^12 elements, of which two chunks at the ends and one in the middle are stored, and hold 1 to 1000 each.
    fn mostly_empty(data_type: DataType, fill: &str, chunks: &[u64]) -> Array {
        const N: u64 = 1_000_000;
        let store = Store::memory(&Context::default());
        let mut spec = Spec::new(data_type, &[N, N]).unwrap();
        spec.set_chunks(chunks).unwrap();
        spec.set_fill_json(fill).unwrap();
        let array = Array::create(&store, "", &spec, Create::New).unwrap();
        for row in [0, 499_999, N as i64 - 1] {
            let selection = Selection::new(&[N, N], &[row, 5000], &[1, 1000], None).unwrap();
            let mut values: Vec<u8> = (1..=1000i64).flat_map(i64::to_ne_bytes).collect();
            let strides = crate::limits::c_strides(&[1, 1000], 8);
            let (data, size) = (values.as_mut_ptr(), values.len());
            let overflow = crate::engine::Overflow::Error;
            let memory = crate::engine::Memory { data, size, offset: 0, strides, data_type: DataType::Int64, overflow, arena: None };
            // SAFETY: the memory is all of `values`.
            unsafe { array.write(&selection, &memory) }.unwrap();
        }
        array
    }

    /// Type, fill value, chunk shape, how many elements count, and their range.
    type Row<'a> = (DataType, &'a str, &'a [u64], u64, (f64, f64));

    #[test]
    fn chunks_that_are_not_stored_count_by_their_fill_value() {
        let all = Selection::all(&[1_000_000, 1_000_000]);
        let rows: &[Row<'_>] = &[
            (DataType::Float64, "0", &[1000, 1000], 1_000_000_000_000, (0.0, 1000.0)),
            (DataType::Float16, "\"NaN\"", &[1, 1000], 3000, (1.0, 1000.0)),
            (DataType::Int64, "3000", &[700, 999], 1_000_000_000_000, (1.0, 3000.0)),
            (DataType::Int16, "-1", &[2000, 1000], 1_000_000_000_000, (-1.0, 1000.0)),
        ];
        for (data_type, fill, chunks, count, range) in rows {
            let array = mostly_empty(*data_type, fill, chunks);
            let numbers = Numbers::new(&array, all.clone(), false).unwrap();
            assert!(numbers.bytes() < 1 << 28, "{data_type:?}: {} bytes are read", numbers.bytes());
            let found = numbers.moments(&|_| (), |_, _| Ok(())).unwrap();
            assert_eq!((found.elements, found.count, found.range()), (1_000_000_000_000, *count, Some(*range)), "{data_type:?}");
            let bins = numbers.bins(Bins::new(range.0, range.1, 2), &|_| ()).unwrap();
            assert_eq!(bins.counts.iter().sum::<u64>(), *count, "{data_type:?}");
        }
    }

    #[test]
    fn regions_count_what_is_stored_in_them() {
        let array = mostly_empty(DataType::Int16, "7", &[1, 1000]);
        // The rows of values that each region has.
        for (start, count, step, rows) in [([0, 4000], [200_000, 3000], [1, 1], 1), ([999_999, 6500], [300_000, 2000], [-2, -1], 2)] {
            let selection = Selection::new(&[1_000_000, 1_000_000], &start, &count, Some(&step)).unwrap();
            let numbers = Numbers::new(&array, selection, false).unwrap();
            assert!(numbers.bytes() < 1 << 28, "{} bytes are read", numbers.bytes());
            let found = numbers.moments(&|_| (), |_, _| Ok(())).unwrap();
            let sum = 7 * (600_000_000 - rows * 1000) + rows * 500_500i64;
            assert_eq!((found.elements, found.range(), found.mean()), (600_000_000, Some((1.0, 1000.0)), Some(sum as f64 / 6e8)));
        }
    }
}
