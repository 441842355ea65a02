//! A value that is put piece by piece: nobody sees it until it is published.

use super::local::staged_file::StagedFile;
use crate::error::{Result, bail};
use crate::limits::reserve;

/// A value that is put piece by piece ([`super::Storage::stage`]); nobody sees it until it is published, and it is gone when dropped.
pub enum Staged {
    /// In a temporary file beside the key.
    File(Box<StagedFile>),
    /// In memory, for stores that take whole values only.
    Memory(Vec<u8>),
    /// As the store wants it.
    Other(Box<dyn StagedWrite>),
}

/// A value that a store of another kind takes piece by piece.
pub trait StagedWrite: Send {
    /// Says how many bytes will be added in all, before the first of them.
    fn expect(&mut self, len: u64);
    /// Adds bytes at the end.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;
    /// Replaces the first bytes, of which there are as many already.
    fn replace_head(&mut self, bytes: &[u8]) -> Result<()>;
    /// Makes all of it the value of its key.
    fn publish(self: Box<Self>) -> Result<()>;
}

impl Staged {
    /// Says how many bytes will be added in all, before the first of them, where that is known.
    pub fn expect(&mut self, len: u64) {
        if let Staged::Other(other) = self {
            other.expect(len);
        }
    }

    /// Adds bytes at the end.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Staged::File(file) => file.append(bytes),
            Staged::Other(other) => other.append(bytes),
            Staged::Memory(all) => {
                reserve(all, bytes.len())?;
                all.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Replaces the first bytes, of which there are as many already.
    pub fn replace_head(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Staged::File(file) => file.replace_head(bytes),
            Staged::Other(other) => other.replace_head(bytes),
            Staged::Memory(all) => match all.get_mut(..bytes.len()) {
                Some(head) => {
                    head.copy_from_slice(bytes);
                    Ok(())
                }
                None => bail!(Internal, "a head of {} bytes of a value that has {}", bytes.len(), all.len()),
            },
        }
    }
}
