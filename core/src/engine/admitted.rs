//! The types that planners take: an array that passed admission, so that its elements may be read or written now, and the caller's memory.

use super::Memory;
use super::array::BoundArray;
use super::buffer_guard::RevocableBuffer;
use crate::dtype::coding::Coding;
use std::sync::Arc;

/// See the module. Calls get it from `admit`.
#[derive(Clone)]
pub(super) struct Admitted {
    pub array: Arc<BoundArray>,
}

impl Admitted {
    /// Admits the storing of what waited in write-back, whose chunk is locked: nothing is in its way.
    pub fn from_write_back(array: &Arc<BoundArray>) -> Admitted {
        Admitted { array: array.without_write_back() }
    }

    /// Admits a part of what `array`, the array of an admitted job, was admitted for.
    pub fn part_of(array: &Arc<BoundArray>) -> Admitted {
        Admitted { array: array.clone() }
    }
}

/// The caller's memory in a job.
pub(super) struct JobMemory<'a> {
    /// The memory, which was checked.
    pub memory: &'a Memory,
    /// What its elements mean by stored ones, where that is another value.
    pub coding: Option<&'a Coding>,
    /// What every access to it passes, so that the request can be cancelled.
    pub revocable: Option<Arc<RevocableBuffer>>,
}

impl<'a> From<&'a Memory> for JobMemory<'a> {
    fn from(memory: &'a Memory) -> JobMemory<'a> {
        JobMemory { memory, coding: None, revocable: None }
    }
}

impl<'a> JobMemory<'a> {
    /// Memory whose elements are encoded or decoded by `coding`.
    pub fn coded(memory: &'a Memory, coding: &'a Coding) -> JobMemory<'a> {
        JobMemory { coding: Some(coding), ..memory.into() }
    }

    /// Memory that can be revoked.
    pub fn behind(memory: &'a Memory, revocable: &Option<Arc<RevocableBuffer>>) -> JobMemory<'a> {
        JobMemory { revocable: revocable.clone(), ..memory.into() }
    }
}
