//! Which blocks of a region have chunks that are stored: of a region that is mostly empty the others need not be read.

use super::blocks::{Block, Blocks};
use crate::error::{ErrorKind, Result, bail, err};
use crate::node::Array;

/// Regions of fewer blocks are read whole.
const FEW: u64 = 64;
/// The blocks that are looked at before all chunks are listed: if each begins with a stored chunk, most chunks are stored.
const LOOKS: u64 = 8;
/// Longer lists are not made.
const MOST: usize = 1 << 24;

impl Blocks {
    /// Only the blocks that have stored chunks, where that can be found out: the elements of the others have the fill value. Errors: `NoMemory`.
    pub fn only_stored(self, array: &Array) -> Result<Blocks> {
        let stored = blocks_stored(array, &self)?;
        Ok(self.only(stored))
    }

    /// Whether a block is among those of a list, if there is one.
    pub(super) fn is_among(&self, list: Option<&[u64]>, block: &Block) -> bool {
        list.is_none_or(|numbers| numbers.binary_search(&self.number(block)).is_ok())
    }
}

/// Returns the numbers of the blocks that have stored chunks, in order; `None` if all are to be read: there are few, most seem to be stored,
/// or the store cannot tell. Errors: `NoMemory`.
pub(super) fn blocks_stored(array: &Array, blocks: &Blocks) -> Result<Option<Vec<u64>>> {
    if blocks.count() < FEW || !array.store().capabilities().listable {
        return Ok(None);
    }
    let found = is_full(array, blocks).and_then(|is_full| if is_full { Ok(None) } else { listed(array, blocks).map(Some) });
    // What is wrong with chunks is told when they are read.
    found.or_else(|e| if e.kind() == ErrorKind::NoMemory { Err(e) } else { Ok(None) })
}

/// Whether the first chunks of some blocks are all stored.
fn is_full(array: &Array, blocks: &Blocks) -> Result<bool> {
    let (grid, last) = (array.grid(), blocks.count() - 1);
    for i in 0..LOOKS {
        let number = u128::from(last) * u128::from(i) / u128::from(LOOKS - 1);
        let part = blocks.part(&blocks.get(number as u64))?;
        let chunk: Vec<u64> = part.start().iter().enumerate().map(|(d, &at)| grid.chunk_of(d, at)).collect();
        if array.chunk_place(&chunk, false)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Lists the stored chunks; an error if there are more than the region has, or very many.
fn listed(array: &Array, blocks: &Blocks) -> Result<Vec<u64>> {
    let (grid, mut found, mut seen) = (array.grid(), Vec::new(), 0);
    let most = blocks.chunks(&grid);
    array.each_stored(&mut |index| {
        seen += 1;
        if seen > most {
            bail!(Limit, "more than {most} chunks are stored");
        }
        blocks.of_chunk(&grid, index, &mut |number| {
            if found.last() != Some(&number) {
                if found.len() == MOST {
                    bail!(Limit, "more than {MOST} chunks are stored");
                }
                found.try_reserve(1).map_err(|_| err!(NoMemory, "no memory for a list of {} blocks", found.len()))?;
                found.push(number);
            }
            Ok(())
        })
    })?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
