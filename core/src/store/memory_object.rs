//! A value in memory as an opened object.

use super::stamp::Version;
use crate::error::{Result, bail};
use crate::limits::{check_exact, reserve};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A value and whether its key still has it.
pub(super) struct StoredValue {
    pub(super) bytes: Vec<u8>,
    pub(super) version: u64,
    /// Cleared when the key gets another value or is erased.
    pub(super) current: AtomicBool,
}

/// One value of one key, kept alive by this handle.
pub struct MemoryObject {
    pub(super) stored: Arc<StoredValue>,
}

#[allow(clippy::len_without_is_empty)] // emptiness is no question here
impl MemoryObject {
    /// Reads exactly `buf.len()` bytes from `offset`; an early end is `Truncated`.
    pub fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let bytes = usize::try_from(offset).ok().and_then(|at| self.stored.bytes.get(at..)).unwrap_or(&[]);
        match bytes.get(..buf.len()) {
            Some(found) => buf.copy_from_slice(found),
            None => bail!(Truncated, "found {} bytes at offset {offset}, expected {}", bytes.len(), buf.len()),
        }
        Ok(())
    }

    /// Copies the value into `buf`, whose length becomes the value's; more than `max` bytes are `Limit`.
    pub fn read_whole(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        let bytes = &self.stored.bytes;
        if bytes.len() > max {
            bail!(Limit, "found {} bytes, the limit is {max}", bytes.len());
        }
        buf.clear();
        reserve(buf, bytes.len())?;
        buf.extend_from_slice(bytes);
        Ok(())
    }

    /// Copies a value that must have exactly `buf.len()` bytes: shorter is `Truncated`, longer is `Chunk`.
    pub fn read_exact_whole(&self, buf: &mut [u8]) -> Result<()> {
        check_exact(self.len(), buf.len())?;
        buf.copy_from_slice(&self.stored.bytes);
        Ok(())
    }

    /// The value itself, for readers that need no copy.
    pub fn bytes(&self) -> &[u8] {
        &self.stored.bytes
    }

    /// The length in bytes.
    pub fn len(&self) -> u64 {
        self.stored.bytes.len() as u64
    }

    /// The version that this object is.
    pub fn version(&self) -> Version {
        Version::new([self.stored.version, 0, 0, 0])
    }

    /// Whether the key still holds this value.
    pub fn still_current(&self) -> bool {
        self.stored.current.load(Ordering::Acquire)
    }
}
