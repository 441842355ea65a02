//! An opened object that is the bytes which a key held at one moment.

use super::{ReadObject, Version};
use crate::error::{Result, bail};

/// Bytes and their version; `now` asks for the version that the key has.
pub(super) struct Snapshot<F> {
    pub bytes: Vec<u8>,
    pub version: Version,
    pub now: F,
}

impl<F: Fn() -> Result<Option<Version>> + Send + Sync> ReadObject for Snapshot<F> {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let from = usize::try_from(offset).ok().and_then(|at| self.bytes.get(at..)).unwrap_or(&[]);
        match from.get(..buf.len()) {
            Some(found) => buf.copy_from_slice(found),
            None => bail!(Truncated, "found {} bytes at offset {offset}, expected {}", from.len(), buf.len()),
        }
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn version(&self) -> Result<Version> {
        Ok(self.version)
    }

    fn still_current(&self) -> Result<bool> {
        Ok((self.now)()?.is_some_and(|now| now == self.version))
    }
}
