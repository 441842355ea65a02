//! Statistics of a region of numbers, read block by block.

use super::blocks::{Block, Blocks, Cut, read};
use super::moments::{Bins, Moments};
use super::number::as_number;
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
        Ok(sum)
    }
}

/// The bytes of the elements that are missing, in the type that they are read as.
fn missing(array: &Array) -> Result<Vec<Vec<u8>>> {
    let from = array.data_type();
    let all = array.missing_values()?.into_iter();
    if from.kind() != Kind::Float || from.size() >= size_of::<f32>() {
        return Ok(all.map(|element| element.to_vec()).collect());
    }
    // A narrow float is read as a float32.
    let single = |element: Element| match Fill::from_bytes(&element).to_json_v3(from) {
        Value::String(text) => text.parse::<f32>().ok(),
        number => number.as_f64().map(|x| x as f32),
    };
    Ok(all.filter_map(single).map(|x| x.to_ne_bytes().to_vec()).collect())
}
