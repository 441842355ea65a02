//! The one way of a call into the engine. What the caller gave is checked, requests that the call must come after are waited for, and what
//! waits in write-back of the elements is stored. Planners take the result, [`Admitted`], and do no I/O.

use super::admitted::Admitted;
use super::array::BoundArray;
use super::flush::{flush, make_room};
use super::memory::Use;
use super::request_queue::wait_for_conflicts;
use super::{Memory, Selection};
use crate::error::{Result, bail};
use std::sync::Arc;

/// A call whose arguments were checked.
pub(super) struct CheckedCall<'a> {
    array: &'a Arc<BoundArray>,
    /// The elements, or `None` for any of the array's.
    region: Option<&'a Selection>,
    way: Use,
    /// The caller waits for the work. Else the call's place in the queue says when it begins.
    blocks: bool,
    /// Parts of chunks may wait in write-back.
    keeps: bool,
}

impl<'a> CheckedCall<'a> {
    /// Checks a call whose caller waits, for one region.
    pub fn region(array: &'a Arc<BoundArray>, selection: &'a Selection, memory: &Memory, way: Use) -> Result<CheckedCall<'a>> {
        memory.check(selection.shape(), array.data_type, way)?;
        Ok(CheckedCall { array, region: Some(selection), way, blocks: true, keeps: true })
    }

    /// Checks a call whose caller waits, for a list of elements whose result has `shape`.
    pub fn list(array: &'a Arc<BoundArray>, shape: &[u64], memory: &Memory, way: Use) -> Result<CheckedCall<'a>> {
        memory.check(shape, array.data_type, way)?;
        Ok(CheckedCall { array, region: None, way, blocks: true, keeps: false })
    }

    /// Checks an entry of a batch whose caller waits.
    pub fn entry(array: &'a Arc<BoundArray>, selection: &'a Selection, memory: &Memory, way: Use) -> Result<CheckedCall<'a>> {
        let call = CheckedCall::region(array, selection, memory, way)?;
        refuse_variable(array)?;
        Ok(CheckedCall { keeps: false, ..call })
    }

    /// Checks a call that leaves its caller.
    pub fn detached(array: &'a Arc<BoundArray>, selection: &'a Selection, memory: &Memory, way: Use) -> Result<CheckedCall<'a>> {
        Ok(CheckedCall { blocks: false, ..CheckedCall::entry(array, selection, memory, way)? })
    }

    /// Waits for the requests that the call must come after, and stores what waits in write-back as far as the call needs it.
    pub fn admit(&self) -> Result<Admitted> {
        if self.blocks {
            let writes = self.way == Use::Source;
            // Without a region the call touches any chunk.
            wait_for_conflicts(|| match self.region {
                Some(selection) => self.array.footprint(selection, writes),
                None => self.array.footprint(&Selection::all(&self.array.shape), writes),
            });
        }
        let array = self.array.clone();
        let Some(kept) = &self.array.write_back else { return Ok(Admitted { array }) };
        match (self.way, self.region) {
            (Use::Source, Some(selection)) if self.keeps => make_room(&array, kept, selection)?,
            (Use::Source, region) => {
                flush(&array, kept, region)?;
                return Ok(Admitted { array: array.without_write_back() });
            }
            (Use::Destination, region) => flush(&array, kept, region)?,
        }
        Ok(Admitted { array })
    }
}

/// Refuses elements of variable length, whose bytes are in more memory than is described: the rules for calls that leave their caller
/// cannot hold for them.
fn refuse_variable(array: &BoundArray) -> Result<()> {
    if array.data_type.is_variable() {
        bail!(Type, "the elements are {}, of variable length; such are read and written by blocking calls only", array.data_type.name());
    }
    Ok(())
}
